"""That this file is here lets the tests in the folders below import the helpers beside it."""
