"""Quality of many groups: max-gap and CVaR fairness."""
