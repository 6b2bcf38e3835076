"""What keeps count of questions: places among those of a day, questions that several processes are asked, and the ledger."""
