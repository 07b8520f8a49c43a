"""Time series as an SVG picture, for the documentation: panels in a grid, as a dashboard has them."""
