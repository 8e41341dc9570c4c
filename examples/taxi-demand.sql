-- Days on which New York's taxi demand left its usual course: each day's rides beside the mean of the seven days up to it.
-- Run: DATA=<folder of the public data> rheos run examples/taxi-demand.sql
CREATE TABLE rides (
  at TIMESTAMP(3),
  rides INT,
  WATERMARK FOR at AS at
) WITH ('connector' = 'filesystem', 'path' = '${DATA}/nab/data/nyc_taxi.csv', 'format' = 'csv', 'csv.ignore-first-line' = 'true');

CREATE VIEW daily AS
SELECT window_start, window_end, SUM(rides) AS total, MAX(rides) AS busiest
FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(at), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

CREATE VIEW weekly AS
SELECT window_end, SUM(rides) / 7 AS mean, COUNT(*) AS n
FROM TABLE(HOP(TABLE rides, DESCRIPTOR(at), INTERVAL '1' DAY, INTERVAL '7' DAY))
GROUP BY window_start, window_end;

SELECT DATE_FORMAT(d.window_start, 'EEE yyyy-MM-dd') AS `day`, d.total, w.mean AS week_mean,
  ROUND(100.0 * d.total / w.mean - 100, 1) AS percent_off
FROM daily d JOIN weekly w ON d.window_end = w.window_end
WHERE w.n = 336 AND (d.total < 0.77 * w.mean OR d.total > 1.23 * w.mean);
