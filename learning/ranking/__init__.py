"""Which skill fits a question, from several kinds of evidence."""
