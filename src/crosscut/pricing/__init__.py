"""Prices networks from price books, and weighs the price against performance."""
