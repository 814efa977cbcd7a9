"""Tables in and out: readers, the choice of the text column, checks of the texts, writers."""
