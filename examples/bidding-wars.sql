-- Bidding wars in a live auction house: at least three bids on one auction within ten seconds, each higher than the one before by a tenth
-- or more, and then one that is not. Shows patterns (MATCH_RECOGNIZE) with the rate that was valid at the time of the last bid (a temporal join).
--
--   rheos run examples/bidding-wars.sql
--
-- `EXPLAIN STATE SELECT ...` in its place says what this keeps, and for how long.
CREATE TABLE events (
  event_type INT,
  bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING>,
  at AS bid.`dateTime`,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND
) WITH ('connector' = 'nexmark', 'first-event.rate' = '10000', 'events.num' = '${EVENTS:-200000}');

CREATE VIEW bids AS SELECT bid.auction, bid.bidder, bid.price, at FROM events WHERE event_type = 2;

-- What a euro costs, from time to time: quotes, and the table of versions that they make.
CREATE VIEW quotes AS
SELECT 'EUR' AS currency, 0.9 + MOD(price, 10) / 100.0 AS rate, at AS valid_from FROM bids WHERE MOD(auction, 1000) = 7;

CREATE VIEW rates AS
SELECT currency, rate, valid_from FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY valid_from DESC) AS n FROM quotes
) WHERE n = 1;

CREATE VIEW wars AS
SELECT auction, 'EUR' AS currency, first_price, last_price, bids, at FROM bids MATCH_RECOGNIZE (
  PARTITION BY auction ORDER BY at
  MEASURES FIRST(UP.price) AS first_price, LAST(UP.price) AS last_price, COUNT(UP.price) AS bids, MATCH_ROWTIME() AS at
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (UP{3,} STOP) WITHIN INTERVAL '10' SECOND
  DEFINE
    UP AS LAST(UP.price, 1) IS NULL OR UP.price >= LAST(UP.price, 1) * 1.1,
    STOP AS STOP.price < LAST(UP.price) * 1.1
) AS war;

SELECT w.auction, w.bids, w.first_price, w.last_price, CAST(w.last_price * r.rate / 100 AS DECIMAL(18, 2)) AS euros, w.at
FROM wars AS w LEFT JOIN rates FOR SYSTEM_TIME AS OF w.at AS r ON w.currency = r.currency;
