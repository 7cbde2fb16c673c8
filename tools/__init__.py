"""Programs that look after the project itself: its plan, its generated pages."""
