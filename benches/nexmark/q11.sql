-- User sessions: how many bids each user makes until he is silent for ten seconds.
SELECT bidder, COUNT(*) AS bids, window_start AS since, window_end AS until
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
