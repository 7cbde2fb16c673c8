"""Pictures as data (`kinds`), and one style that draws them all (`draw`)."""
