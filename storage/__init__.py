"""The hybrid store: a log in redb that holds what was told, a catalog in libSQL that makes it searchable."""
