"""The process that `kb search` leaves behind, so that the next search need not start Python, load a model and open a store."""
