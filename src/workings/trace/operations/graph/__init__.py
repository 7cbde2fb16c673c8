"""Rules read off the operations that PyTorch ran: a row of the table for each kind of node of autograd's graph."""
