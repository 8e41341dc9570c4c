-- Average price of a category: an aggregate over an aggregate that is updated.
SELECT category, AVG(final) AS average
FROM (
  SELECT a.id, a.category, MAX(b.price) AS final
  FROM auction AS a
  JOIN bid AS b ON b.auction = a.id AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category
