"""Small tools that the whole package shares."""
