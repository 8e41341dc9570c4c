-- Flights within the United States, January to March 2001: where people wait longest.
--   rheos run examples/flights.sql --var DATA=<the folder with us_flights_2001_20k.csv> --output final-tsv
CREATE TABLE flights (
  scheduled TIMESTAMP(3),
  delay_minutes INT,
  distance_miles INT,
  origin STRING,
  destination STRING,
  WATERMARK FOR scheduled AS scheduled
) WITH (
  'connector' = 'filesystem',
  'path' = '${DATA}/us_flights_2001_20k.csv',
  'format' = 'csv',
  'csv.ignore-first-line' = 'true'
);

-- Each week the three airports with the longest mean delay, of those with at least twenty flights.
SELECT week, place, origin, flights, mean_delay, late
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY week ORDER BY mean_delay DESC, origin) AS place
  FROM (
    SELECT
      CAST(window_start AS DATE) AS week,
      origin,
      COUNT(*) AS flights,
      ROUND(AVG(CAST(delay_minutes AS DOUBLE)), 1) AS mean_delay,
      COUNT(*) FILTER (WHERE delay_minutes > 15) AS late
    FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(scheduled), INTERVAL '7' DAYS))
    GROUP BY window_start, window_end, origin
  )
  WHERE flights >= 20
)
WHERE place <= 3;

-- Pairs of airports between which the delay differs most with the direction, kept up to date with every flight.
CREATE VIEW routes AS
SELECT origin, destination, COUNT(*) AS flights, AVG(CAST(delay_minutes AS DOUBLE)) AS delay
FROM flights GROUP BY origin, destination;

SELECT there.origin, there.destination, ROUND(there.delay, 1) AS delay_there, ROUND(back.delay, 1) AS delay_back
FROM routes AS there
JOIN routes AS back ON back.origin = there.destination AND back.destination = there.origin
WHERE there.delay > back.delay + 15 AND there.flights >= 15 AND back.flights >= 15;
