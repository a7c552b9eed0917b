"""Amazon Bedrock as a provider of code-commit."""
