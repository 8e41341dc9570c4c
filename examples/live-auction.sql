-- What an auction house sees live: every two seconds of event time the bids, the bidders, and the highest bid.
-- The events are generated as they are due, ${RATE} a second, and there is no end to them unless EVENTS gives one.
--   rheos run examples/live-auction.sql
CREATE TABLE events (
  event_type INT,  -- 0 a new person, 1 a new auction, 2 a bid
  bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING>,
  bid_time AS bid.`dateTime`,
  WATERMARK FOR bid_time AS bid_time - INTERVAL '1' SECOND
) WITH (
  'connector' = 'nexmark',
  'rate.limited' = 'true',
  'first-event.rate' = '${RATE:-10000}',
  'events.num' = '${EVENTS:-0}'
);

CREATE VIEW bids AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid_time FROM events WHERE event_type = 2;

SELECT
  window_start, window_end,
  COUNT(*) AS bids,
  COUNT(DISTINCT auction) AS auctions,
  COUNT(DISTINCT bidder) AS bidders,
  AVG(price) AS mean_price,
  MAX(price) AS highest
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(bid_time), INTERVAL '2' SECOND))
GROUP BY window_start, window_end;
