"""What people read: one file a reporter."""
