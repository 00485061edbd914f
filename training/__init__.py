"""MemSkill's trainer: a process that learns which memory skills to apply, and invents new ones (arXiv 2602.02474).

``python -I -m prowess.training`` reads a batch of trajectories and writes a controller and a bank of skills. Nothing
imports this package: it is joined to the rest by files, and needs torch (the ``train`` extra). docs/memskill.md.
"""
