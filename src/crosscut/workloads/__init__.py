"""Runs, times and verifies application benchmarks on a place."""
