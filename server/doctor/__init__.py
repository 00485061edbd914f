"""``prowess doctor``: what is wrong with an installation and its store, and the command that mends it.

``examination`` goes through installation and store, with a module for each place that needs more than a few lines;
``clients`` sends a made-up session through the real hooks. Each tells what it found as a ``finding``.
"""
