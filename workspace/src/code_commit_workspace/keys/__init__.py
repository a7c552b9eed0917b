"""Keys: find them in any form, and hide them.

redaction       `Redactor`: hides keys in texts, data, JSON and streams
key_search      finds keys in data
key_forms       the forms of a key: escaped, base64, hex, …
view            data without the characters that may separate those of a form
encodings       views for text and encodings
uuencode_lines  the view for lines of uuencode
dumps           the view for dumps
invisible       leaves out invisible characters
left_out        leaves out parts of data, and finds them again
"""
