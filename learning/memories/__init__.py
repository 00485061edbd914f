"""What single episodes teach: lessons, warnings, and what a person wants always."""
