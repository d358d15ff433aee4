"""What a report measures: values, where they are attained, and how certain they are."""
