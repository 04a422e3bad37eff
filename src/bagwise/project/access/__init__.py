"""Who may answer: people, roles, invitations, sessions."""
