"""How well `crosscut place` predicts what an order of ranks gains."""
