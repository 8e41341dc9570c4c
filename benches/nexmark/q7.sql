-- Highest bid of each ten seconds.
SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra
FROM bid AS b
JOIN (
  SELECT MAX(price) AS price, window_end AS until
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS highest ON highest.price = b.price
WHERE b.`dateTime` BETWEEN highest.until - INTERVAL '10' SECOND AND highest.until
