"""Skills as files that people and agents read, out of the store and into it.

``markdown`` is the text of one, ``files`` are folders of them, ``hosts`` the folders in which agents look for skills,
``importing`` takes files into the store without losing what a person decided there.
"""
