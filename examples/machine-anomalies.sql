-- A machine's temperature, and alarms where an hour is far from the day that ends with it.
-- People have labelled the times of four failures; the second query says which of them the alarms tell, or have told in
-- the twelve hours before.
--   rheos run examples/machine-anomalies.sql --var DATA=<the folder with nab/data> --output final-tsv
CREATE TABLE readings (
  at TIMESTAMP(3),
  temperature DOUBLE,
  WATERMARK FOR at AS at - INTERVAL '10' MINUTE
) WITH (
  'connector' = 'filesystem',
  'path' = '${DATA}/nab/data/machine_temperature_system_failure.csv',
  'format' = 'csv',
  'csv.ignore-first-line' = 'true'
);

CREATE VIEW hours AS
SELECT window_end AS until, AVG(temperature) AS mean, MIN(temperature) AS lowest
FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

CREATE VIEW day_long AS
SELECT window_end AS until, AVG(temperature) AS mean, STDDEV_SAMP(temperature) AS deviation
FROM TABLE(HOP(TABLE readings, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '1' DAY))
GROUP BY window_start, window_end;

CREATE VIEW alarms AS
SELECT h.until, h.mean AS hour_mean, d.mean AS day_mean, (h.mean - d.mean) / d.deviation AS deviations, 1 AS machine
FROM hours AS h
JOIN day_long AS d ON h.until = d.until
WHERE d.deviation > 0.5 AND ABS(h.mean - d.mean) > 3 * d.deviation;

CREATE VIEW labels AS
SELECT CAST(since AS TIMESTAMP(3)) AS since, CAST(until AS TIMESTAMP(3)) AS until, what, 1 AS machine
FROM (VALUES
  ('2013-12-10 06:25:00', '2013-12-12 05:35:00', 'unknown'),
  ('2013-12-15 17:50:00', '2013-12-17 17:00:00', 'planned shutdown'),
  ('2014-01-27 14:20:00', '2014-01-29 13:30:00', 'hard to detect, led to the failure'),
  ('2014-02-07 14:55:00', '2014-02-09 14:05:00', 'catastrophic failure')
) AS t (since, until, what);

SELECT until, ROUND(hour_mean, 1) AS hour_mean, ROUND(day_mean, 1) AS day_mean, ROUND(deviations, 1) AS deviations FROM alarms;

SELECT l.what, l.since, COUNT(*) AS alarms, MIN(a.until) AS first_alarm
FROM labels AS l
JOIN alarms AS a ON a.machine = l.machine AND a.until BETWEEN l.since - INTERVAL '12' HOUR AND l.until
GROUP BY l.what, l.since;
