"""What commands print: numbers, summaries, progress."""
