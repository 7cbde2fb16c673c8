"""Studies of the exam's questions and of the course's figures."""
