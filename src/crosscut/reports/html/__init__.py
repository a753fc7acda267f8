"""The report as one HTML page that needs no network: a file for each picture, `page.py` puts them together.

Python computes and words everything; the page's scripts (assets/*.js) draw, and say nothing of their own.
"""
