"""The report of a run: one HTML file that needs no network, and report.md for pull requests.

`run_data` reads a run without Spark. Each file of `lanes` turns a part of it into values of `lane`. Templates draw
these as HTML and SVG, so that the page is readable without JavaScript. `report.js` adds the cursor, zoom and filters.
"""
