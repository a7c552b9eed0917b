"""A task agent that answers in TypeScript, with a result or with a list of steps that are verified
one by one.
"""

__version__ = "0.1.0"
