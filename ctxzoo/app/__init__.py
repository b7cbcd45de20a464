"""A page on which a checkpoint is tried in a browser: its frame, its server, and a folder that runs as a Space.

What stands on the page of a problem is laid out by `ctxzoo/tasks/<problem>/page.py`.
"""
