"""Where remarks send people who ask why."""

from typing import Final

SEE_QUESTIONS: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
