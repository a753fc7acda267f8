"""The report as one self-contained HTML page. Each picture has its module; `page.py` assembles them.

Python computes all figures and writes all captions; the page's scripts (assets/*.js) only draw.
"""
