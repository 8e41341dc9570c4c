-- Taxi demand in New York: days on which far fewer, or far more, people rode than on the same day of the week before.
-- Half-hourly counts of 2014 and 2015; the marathon, Thanksgiving, Christmas, New Year and the blizzard stand out.
--   rheos run examples/taxi-demand.sql --var DATA=<the folder with nab/data/nyc_taxi.csv> --output final-tsv
CREATE TABLE rides (
  at TIMESTAMP(3),
  passengers INT,
  WATERMARK FOR at AS at
) WITH (
  'connector' = 'filesystem',
  'path' = '${DATA}/nab/data/nyc_taxi.csv',
  'format' = 'csv',
  'csv.ignore-first-line' = 'true'
);

CREATE VIEW days AS
SELECT CAST(window_start AS DATE) AS `day`, SUM(passengers) AS passengers, MAX(passengers) AS busiest_half_hour
FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(at), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

SELECT
  today.`day`,
  DATE_FORMAT(CAST(today.`day` AS TIMESTAMP(3)), 'EEE') AS weekday,
  today.passengers,
  CAST(100.0 * (today.passengers - week_ago.passengers) / week_ago.passengers AS DECIMAL(6, 1)) AS percent_more,
  today.busiest_half_hour
FROM days AS today
JOIN days AS week_ago ON today.`day` = week_ago.`day` + INTERVAL '7' DAY
WHERE ABS(today.passengers - week_ago.passengers) > 0.3 * week_ago.passengers;
