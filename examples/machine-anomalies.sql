-- A machine's temperature: hours that left the last day's range, beside the periods that people labelled as failures.
-- Run: DATA=<folder of the public data> rheos run examples/machine-anomalies.sql
CREATE TABLE temperature (
  at TIMESTAMP(3),
  degrees DOUBLE,
  WATERMARK FOR at AS at - INTERVAL '10' MINUTE
) WITH ('connector' = 'filesystem', 'path' = '${DATA}/nab/data/machine_temperature_system_failure.csv', 'format' = 'csv',
        'csv.ignore-first-line' = 'true');

CREATE VIEW labels AS
SELECT * FROM (VALUES
  ('first failure', TIMESTAMP '2013-12-15 17:50:00.000', TIMESTAMP '2013-12-17 17:00:00.000'),
  ('planned shutdown', TIMESTAMP '2014-01-27 14:20:00.000', TIMESTAMP '2014-01-29 13:30:00.000'),
  ('subtle problem', TIMESTAMP '2014-02-07 14:55:00.000', TIMESTAMP '2014-02-09 14:05:00.000')
) AS l(label, since, until);

CREATE VIEW hourly AS
SELECT window_start, window_end, AVG(degrees) AS mean, COUNT(*) AS readings
FROM TABLE(TUMBLE(TABLE temperature, DESCRIPTOR(at), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

CREATE VIEW baseline AS
SELECT window_end, AVG(degrees) AS mean, STDDEV_POP(degrees) AS spread
FROM TABLE(HOP(TABLE temperature, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '24' HOUR))
GROUP BY window_start, window_end;

SELECT a.window_start AS `hour`, ROUND(a.mean, 1) AS degrees, ROUND(a.sigmas, 1) AS sigmas, l.label
FROM (
  SELECT h.window_start, h.mean, (h.mean - b.mean) / b.spread AS sigmas
  FROM hourly h JOIN baseline b ON h.window_end = b.window_end
  WHERE ABS(h.mean - b.mean) > 3.4 * b.spread AND h.readings >= 6
) a
LEFT JOIN labels l ON a.window_start BETWEEN l.since AND l.until;
