"""The use cases between spans and scores: settle, assemble, plan, pump, deliver.

Nothing is re-exported: whoever only writes rules or reads files must not wait for the store's libraries.
"""

__all__: list[str] = []
