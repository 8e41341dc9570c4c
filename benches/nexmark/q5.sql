-- Hot items: the auctions with the most bids of the last ten seconds, every two seconds.
WITH counts AS (
  SELECT auction, window_start, window_end, COUNT(*) AS num
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
),
most AS (
  SELECT MAX(num) AS num, window_start, window_end FROM counts GROUP BY window_start, window_end
)
SELECT c.auction, c.num
FROM counts AS c
JOIN most AS m ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.num
