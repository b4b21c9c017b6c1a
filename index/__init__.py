"""What do we know, and which chunks match?

SQLite holds the truth (`store`, `documents`, `chunks`, `vectors`, `tags`); `matrix` and `lexical` are projections of it that
can be deleted at any time. Useful for: storing and finding chunks by id, words and vectors. Not useful for: making
vectors, reading files, ranking across searches. Imports nothing else of ours.
"""
