"""Models in which a record has several linear predictors: of classes, of thresholds between classes, of periods."""
