"""Options that commands share: their declarations, parsers and shell completion."""
