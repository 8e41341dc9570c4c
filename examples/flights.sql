-- Flights of a day: the three airports whose departures were latest, among those with some traffic.
-- Run: DATA=<folder of the public data> rheos run examples/flights.sql
CREATE TABLE flights (
  scheduled TIMESTAMP(3),
  delay_minutes INT,
  distance_miles INT,
  origin STRING,
  destination STRING,
  WATERMARK FOR scheduled AS scheduled - INTERVAL '1' HOUR
) WITH ('connector' = 'filesystem', 'path' = '${DATA}/us_flights_2001_20k.csv', 'format' = 'csv', 'csv.ignore-first-line' = 'true');

CREATE VIEW weekly AS
SELECT window_start, window_end, origin, COUNT(*) AS departures, AVG(CAST(delay_minutes AS DOUBLE)) AS mean_delay,
  COUNT(*) FILTER (WHERE delay_minutes > 60) AS over_an_hour
FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(scheduled), INTERVAL '7' DAY))
GROUP BY window_start, window_end, origin
HAVING COUNT(*) >= 20;

SELECT CAST(window_start AS DATE) AS week_from, rn AS place, origin, departures, ROUND(mean_delay, 1) AS mean_delay, over_an_hour
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY mean_delay DESC, origin) AS rn FROM weekly
)
WHERE rn <= 3;
