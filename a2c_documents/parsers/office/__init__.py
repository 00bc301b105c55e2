"""What the formats of office programs share: a zip of XML parts."""
