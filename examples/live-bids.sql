-- Bids of a live auction stream, second by second: how many, the highest, and how many auctions they were for.
-- Run: rheos run examples/live-bids.sql
CREATE TABLE auction_house (
  event_type INT,
  bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, `dateTime` TIMESTAMP(3), extra VARCHAR>,
  `time` AS bid.`dateTime`,
  WATERMARK FOR `time` AS `time` - INTERVAL '0.1' SECOND
) WITH ('connector' = 'nexmark', 'first-event.rate' = '1000', 'rate.limited' = 'true');

SELECT window_start, COUNT(*) AS bids, COUNT(DISTINCT bid.auction) AS auctions, MAX(bid.price) AS highest
FROM TABLE(TUMBLE(TABLE auction_house, DESCRIPTOR(`time`), INTERVAL '1' SECOND))
WHERE event_type = 2
GROUP BY window_start, window_end;
