"""What to push: objectives as small descriptions, their names, and the calls that use them."""
