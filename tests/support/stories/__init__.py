"""Small histories written by hand, each with what a check finds in it."""
