"""What a group is about: its words and its most telling texts."""
