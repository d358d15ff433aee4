"""The page of a report: pictures and templates."""
