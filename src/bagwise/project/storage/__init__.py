"""The database of a project: connecting, schema, migrations, statements, backup, integrity check."""
